# The simulator. The log and the replica are compiled a second time, with the switches that
# take single rules out (raft/guard.h), so that mutants can show that the checker notices;
# for the broker's and the queue's the linker puts mutant_wrap.c in between. Windows and
# snapshot chunks are small here, as the logs are.
check_PROGRAMS += tests/sim/holdfast-sim
tests_sim_holdfast_sim_SOURCES = \
	tests/sim/checker.c tests/sim/checker.h \
	tests/sim/checker_hold.c \
	tests/sim/checker_state.c \
	tests/sim/checker_told.c \
	tests/sim/client.c tests/sim/client.h \
	tests/sim/client_admin.c \
	tests/sim/client_copy.c \
	tests/sim/client_publish.c \
	tests/sim/client_redrive.c \
	tests/sim/client_subscribe.c \
	tests/sim/conn.c tests/sim/conn.h \
	tests/sim/disk.c tests/sim/disk.h \
	tests/sim/disk_look.c \
	tests/sim/disk_snapshot.c \
	tests/sim/link.c \
	tests/sim/main.c \
	tests/sim/mutant.c tests/sim/mutant.h \
	tests/sim/mutant_wrap.c \
	tests/sim/nemesis.c \
	tests/sim/node.c \
	tests/sim/operator.c \
	tests/sim/oracle.c \
	tests/sim/plan.c tests/sim/plan.h \
	tests/sim/plan_text.c \
	tests/sim/runner.c tests/sim/runner.h \
	tests/sim/shrink.c \
	tests/sim/sim.h \
	tests/sim/world.c \
	src/server/agreement.c \
	src/server/handover.c \
	src/server/imaging.c \
	src/server/replica.c \
	src/server/replica_restore.c \
	src/server/replica_disk.c \
	src/server/replica_peers.c \
	src/server/replica_status.c \
	src/server/timekeeper.c \
	$(raft_librlog_a_SOURCES)
tests_sim_holdfast_sim_CPPFLAGS = $(AM_CPPFLAGS) -DHF_TEST_GUARDS \
	-DLIMIT_AE_BYTES=4096u -DLIMIT_SNAPSHOT_CHUNK=2048u \
	-DLIMIT_LOG_CACHE_BYTES=32768u -DLIMIT_TRAILING_BYTES=4096u \
	-DRLOG_INFLIGHT_ENTRIES=64 -DRLOG_PEER_WINDOW_BYTES=16384u \
	-DRLOG_UNCOMMITTED_ENTRIES=256 -DRLOG_UNCOMMITTED_BYTES=262144u \
	-DRLOG_APPLY_ENTRIES=64 -DRLOG_APPLY_BYTES=32768u
tests_sim_holdfast_sim_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=broker_take_batch,--wrap=reply_id,--wrap=batch_barrier,--wrap=clock_tick \
	-Wl,--wrap=journal_note,--wrap=state_apply,--wrap=state_epoch,--wrap=queue_publish \
	-Wl,--wrap=message_to_dlq,--wrap=session_end,--wrap=image_loader_finish
tests_sim_holdfast_sim_LDADD = $(BROKER_LIBS) $(RAFT_LIBS)
