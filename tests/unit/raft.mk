# The unit tests of raft/. The log is compiled a second time, with the switches that take single
# rules out (raft/guard.h): the tests prove that each is missed.
check_PROGRAMS += tests/unit/test-raft
tests_unit_test_raft_SOURCES = \
	tests/unit/raft/main.c tests/unit/raft/suites.h \
	tests/unit/raft/diskrig.c tests/unit/raft/diskrig.h \
	tests/unit/raft/memdisk.c tests/unit/raft/memdisk.h \
	tests/unit/raft/rig.c tests/unit/raft/rig.h \
	tests/unit/raft/scenario.c tests/unit/raft/scenario.h \
	tests/unit/raft/test_change.c \
	tests/unit/raft/test_disk.c \
	tests/unit/raft/test_disk_aside.c \
	tests/unit/raft/test_disk_check.c \
	tests/unit/raft/test_disk_damage.c \
	tests/unit/raft/test_disk_failures.c \
	tests/unit/raft/test_disk_full.c \
	tests/unit/raft/test_disk_install.c \
	tests/unit/raft/test_disk_seed.c \
	tests/unit/raft/test_format.c \
	tests/unit/raft/test_gate.c \
	tests/unit/raft/test_guards.c \
	tests/unit/raft/test_rejoin.c \
	tests/unit/raft/test_rlog.c \
	tests/unit/raft/test_room.c \
	tests/unit/raft/test_rules.c \
	tests/unit/raft/test_snapshots.c \
	tests/unit/raft/test_wire.c \
	raft/change.c \
	raft/entries.c \
	raft/guard.c \
	raft/heap.c \
	raft/members.c \
	raft/rlog.c \
	raft/rlog_chain.c \
	raft/rlog_elect.c \
	raft/rlog_gate.c \
	raft/rlog_offer.c \
	raft/rlog_receive.c \
	raft/rlog_room.c \
	raft/rlog_send.c \
	raft/rlog_snapshot.c \
	raft/rlog_step.c \
	raft/rlog_store.c \
	raft/rlog_submit.c \
	raft/wire.c \
	raft/wire_snapshot.c
tests_unit_test_raft_CPPFLAGS = $(AM_CPPFLAGS) -DHF_TEST_GUARDS
tests_unit_test_raft_LDADD = raft/librdisk.a src/base/libbase.a $(RAFT_LIBS) \
	$(CHECK_LIBS) $(YAJL_LIBS) -lpthread
