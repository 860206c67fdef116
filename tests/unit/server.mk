check_PROGRAMS += tests/unit/test-server
tests_unit_test_server_SOURCES = \
	tests/unit/server/main.c \
	tests/unit/server/suites.h \
	tests/unit/server/test_agreement.c \
	tests/unit/server/test_attempts.c \
	tests/unit/server/test_auth.c \
	tests/unit/server/test_backup_file.c \
	tests/unit/server/test_config.c \
	tests/unit/server/test_metrics.c \
	tests/unit/server/test_pages.c \
	tests/unit/server/test_notify.c \
	tests/unit/server/test_rejoin.c \
	tests/unit/server/test_replica.c \
	tests/unit/server/test_replica_disk.c \
	tests/unit/server/three.c tests/unit/server/three.h \
	tests/unit/raft/memdisk.c \
	tests/unit/server/test_throttle.c \
	tests/unit/server/test_timekeeper.c
tests_unit_test_server_LDADD = $(SERVER_LIBS) $(CHECK_LIBS)
