# The simulator. The log and the replica are compiled a second time, with the switches that
# take single rules out (raft/guard.h), so that mutants can show that the checker notices.
check_PROGRAMS += tests/sim/holdfast-sim
tests_sim_holdfast_sim_SOURCES = \
	tests/sim/checker.c tests/sim/checker.h \
	tests/sim/checker_hold.c \
	tests/sim/checker_state.c \
	tests/sim/checker_told.c \
	tests/sim/client.c tests/sim/client.h \
	tests/sim/client_admin.c \
	tests/sim/client_publish.c \
	tests/sim/client_subscribe.c \
	tests/sim/conn.c tests/sim/conn.h \
	tests/sim/disk.c tests/sim/disk.h \
	tests/sim/disk_snapshot.c \
	tests/sim/link.c \
	tests/sim/main.c \
	tests/sim/nemesis.c \
	tests/sim/node.c \
	tests/sim/sim.h \
	tests/sim/world.c \
	src/server/imaging.c \
	src/server/replica.c \
	$(raft_librlog_a_SOURCES)
tests_sim_holdfast_sim_CPPFLAGS = $(AM_CPPFLAGS) -DHF_TEST_GUARDS -DLIMIT_TRAILING_BYTES=4096u
tests_sim_holdfast_sim_LDADD = $(BROKER_LIBS) $(RAFT_LIBS)
