# The replicated log of one node: librlog is its logic (no I/O), librdisk the data directory.
# pure: change entries guard heap members rlog rlog_chain rlog_elect rlog_gate rlog_offer rlog_receive rlog_room rlog_send rlog_snapshot rlog_step rlog_store rlog_submit wire wire_snapshot
noinst_LIBRARIES += raft/librlog.a raft/librdisk.a
raft_librlog_a_SOURCES = \
	raft/change.c raft/change.h \
	raft/entries.c raft/entries.h \
	raft/guard.c raft/guard.h \
	raft/heap.c \
	raft/members.c raft/members.h \
	raft/rlog.c raft/rlog.h \
	raft/rlog_disk.h raft/rlog_int.h raft/rlog_members.h raft/rlog_parts.h raft/rlog_state.h raft/rlog_types.h \
	raft/rlog_chain.c raft/rlog_chain.h \
	raft/rlog_elect.c \
	raft/rlog_gate.c \
	raft/rlog_offer.c \
	raft/rlog_receive.c \
	raft/rlog_room.c raft/rlog_room.h \
	raft/rlog_send.c \
	raft/rlog_snapshot.c \
	raft/rlog_step.c \
	raft/rlog_store.c \
	raft/rlog_submit.c \
	raft/wire.c raft/wire.h raft/wire_snapshot.c
raft_librdisk_a_SOURCES = \
	raft/disk.c raft/disk.h raft/disk_int.h raft/disk_jobs.h raft/disk_parts.h \
	raft/disk_aside.c \
	raft/disk_boot.c \
	raft/disk_check.c raft/disk_check.h \
	raft/disk_file.c \
	raft/disk_format.c raft/disk_format.h \
	raft/disk_helper.c \
	raft/disk_image.c \
	raft/disk_init.c \
	raft/disk_make.h \
	raft/disk_mend.c \
	raft/disk_plan.c \
	raft/disk_read.c \
	raft/disk_repair.c \
	raft/disk_reserve.c \
	raft/disk_scan.c raft/disk_scan.h \
	raft/disk_seed.c raft/disk_seed.h \
	raft/disk_sync.c \
	raft/disk_thread.c \
	raft/disk_writer.c
