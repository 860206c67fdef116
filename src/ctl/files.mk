# holdfastctl: everything but main.c is in a library, so that tests can link it.
noinst_LIBRARIES += src/ctl/libctl.a
src_ctl_libctl_a_SOURCES = \
	src/ctl/bench.c \
	src/ctl/commands.h \
	src/ctl/control_client.c \
	src/ctl/data.c \
	src/ctl/login.c src/ctl/login.h \
	src/ctl/options.c src/ctl/options.h \
	src/ctl/pubsub.c \
	src/ctl/wsclient.c src/ctl/wsclient.h

bin_PROGRAMS += src/ctl/holdfastctl
src_ctl_holdfastctl_SOURCES = src/ctl/main.c
src_ctl_holdfastctl_LDADD = $(CTL_LIBS)
