# holdfastctl: everything but main.c is in a library, so that tests can link it.
noinst_LIBRARIES += src/ctl/libctl.a
src_ctl_libctl_a_SOURCES = \
	src/ctl/admin.c src/ctl/admin.h \
	src/ctl/admin_bulk.c \
	src/ctl/admin_list.c \
	src/ctl/backup.c \
	src/ctl/answer.c src/ctl/answer.h \
	src/ctl/bench.c \
	src/ctl/cert.c src/ctl/cert.h \
	src/ctl/cert_commands.c \
	src/ctl/cert_show.c src/ctl/cert_show.h \
	src/ctl/cluster.c \
	src/ctl/commands.h \
	src/ctl/completion.c \
	src/ctl/control_client.c src/ctl/control_client.h \
	src/ctl/context.c src/ctl/context.h \
	src/ctl/daemon.c src/ctl/daemon.h \
	src/ctl/data.c \
	src/ctl/dial.c src/ctl/dial.h \
	src/ctl/failure.c src/ctl/failure.h \
	src/ctl/help.c \
	src/ctl/lists.c \
	src/ctl/login.c src/ctl/login.h \
	src/ctl/options.c src/ctl/options.h \
	src/ctl/output.c src/ctl/output.h \
	src/ctl/progress.c src/ctl/progress.h \
	src/ctl/publish.h \
	src/ctl/pubsub.c \
	src/ctl/run.c \
	src/ctl/table.c src/ctl/table.h \
	src/ctl/terminal.c src/ctl/terminal.h \
	src/ctl/top.c \
	src/ctl/wsclient.c src/ctl/wsclient.h

bin_PROGRAMS += src/ctl/holdfastctl
src_ctl_holdfastctl_SOURCES = src/ctl/main.c
src_ctl_holdfastctl_LDADD = $(CTL_LIBS)
