# holdfastd: everything but main.c is in a library, so that tests can link it.
noinst_LIBRARIES += src/server/libserver.a
src_server_libserver_a_SOURCES = \
	src/server/agreement.c src/server/agreement.h \
	src/server/attempts.c src/server/attempts.h \
	src/server/auth.c src/server/auth.h \
	src/server/auth_secret.c \
	src/server/backup.c src/server/backup.h \
	src/server/backup_load.c src/server/backup_load.h src/server/backup_restore.c \
	src/server/backup_file.c src/server/backup_file.h \
	src/server/certificates.c src/server/certificates.h \
	src/server/command.c src/server/command.h \
	src/server/commands.c \
	src/server/commands_args.c src/server/commands_args.h \
	src/server/commands_backup.c \
	src/server/commands_bulk.c src/server/commands_bulk.h \
	src/server/commands_dlq.c \
	src/server/commands_login.c \
	src/server/commands_msg.c \
	src/server/commands.h \
	src/server/commands_cluster.c \
	src/server/commands_members.c \
	src/server/commands_queue.c \
	src/server/commands_session.c \
	src/server/config.c src/server/config.h \
	src/server/config_check.c src/server/config_check.h \
	src/server/control.c src/server/control.h \
	src/server/control_stream.c src/server/control_stream.h \
	src/server/data.c src/server/data.h \
	src/server/directory.c src/server/directory.h \
	src/server/exit.h \
	src/server/handover.c src/server/handover.h \
	src/server/imaging.c src/server/imaging.h \
	src/server/init.c src/server/init.h \
	src/server/known_logins.c src/server/known_logins.h \
	src/server/join.c src/server/join.h \
	src/server/metrics.c src/server/metrics.h \
	src/server/metrics_json.c src/server/metrics_text.c \
	src/server/node.c src/server/node.h \
	src/server/node_members.c src/server/node_members.h \
	src/server/node_stop.c \
	src/server/node_disk.c \
	src/server/node_life.c src/server/node_parts.h \
	src/server/node_start.c \
	src/server/notify.c src/server/notify.h \
	src/server/progress.c src/server/progress.h \
	src/server/pages.c src/server/pages.h \
	src/server/process.c src/server/process.h \
	src/server/recover.c src/server/recover.h \
	src/server/rejoin.c src/server/rejoin.h \
	src/server/replica.c src/server/replica.h src/server/replica_int.h \
	src/server/replica_disk.c \
	src/server/replica_peers.c src/server/replica_restore.c src/server/replica_status.c \
	src/server/throttle.c src/server/throttle.h \
	src/server/timekeeper.c src/server/timekeeper.h

sbin_PROGRAMS += src/server/holdfastd
src_server_holdfastd_SOURCES = src/server/main.c src/server/crash.c src/server/crash.h
src_server_holdfastd_LDADD = $(SERVER_LIBS)
