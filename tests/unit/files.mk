# One program a folder, named tests/unit/test-FOLDER (check_PROGRAMS; run by tests/run unit).
include $(srcdir)/tests/unit/base.mk
include $(srcdir)/tests/unit/queue.mk
include $(srcdir)/tests/unit/broker.mk
include $(srcdir)/tests/unit/proto.mk
include $(srcdir)/tests/unit/raft.mk
include $(srcdir)/tests/unit/cluster.mk
include $(srcdir)/tests/unit/net.mk
include $(srcdir)/tests/unit/server.mk
include $(srcdir)/tests/unit/ctl.mk
