check_PROGRAMS += tests/unit/test-server
tests_unit_test_server_SOURCES = \
	tests/unit/server/main.c \
	tests/unit/server/suites.h \
	tests/unit/server/test_attempts.c \
	tests/unit/server/test_auth.c \
	tests/unit/server/test_config.c \
	tests/unit/server/test_rejoin.c \
	tests/unit/server/test_replica.c \
	tests/unit/raft/memdisk.c \
	tests/unit/server/test_throttle.c
tests_unit_test_server_LDADD = $(SERVER_LIBS) $(CHECK_LIBS)
