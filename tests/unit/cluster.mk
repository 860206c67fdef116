# The unit tests of cluster: tests/unit/test-cluster.
check_PROGRAMS += tests/unit/test-cluster
tests_unit_test_cluster_SOURCES = \
	tests/unit/cluster/certs.c tests/unit/cluster/certs.h \
	tests/unit/cluster/raw.c tests/unit/cluster/raw.h \
	tests/unit/cluster/rig.c tests/unit/cluster/rig.h \
	tests/unit/cluster/test_abuse.c \
	tests/unit/cluster/test_cluster.h \
	tests/unit/cluster/test_death.c \
	tests/unit/cluster/test_frame.c \
	tests/unit/cluster/test_links.c \
	tests/unit/cluster/test_main.c \
	tests/unit/cluster/test_members.c \
	tests/unit/cluster/test_parts.c \
	tests/unit/cluster/test_trust.c
tests_unit_test_cluster_LDADD = cluster/libcluster.a raft/librlog.a src/base/libbase.a $(RAFT_LIBS) \
	$(LIBUV_LIBS) $(OPENSSL_LIBS) $(YAJL_LIBS) $(CHECK_LIBS) -lpthread
