# tests/unit/test-net: the unit tests of src/net, with a core that is made up.
check_PROGRAMS += tests/unit/test-net
tests_unit_test_net_SOURCES = \
	tests/unit/net/certificate.c tests/unit/net/certificate.h \
	tests/unit/net/client.c tests/unit/net/client.h \
	tests/unit/net/main.c \
	tests/unit/net/rig.c tests/unit/net/rig.h \
	tests/unit/net/suites.h \
	tests/unit/net/test_flow.c \
	tests/unit/net/test_hostile.c \
	tests/unit/net/test_limits.c \
	tests/unit/net/test_login.c \
	tests/unit/net/test_many.c \
	tests/unit/net/test_node.c \
	tests/unit/net/test_ops.c \
	tests/unit/net/test_parts.c \
	tests/unit/net/test_proxy.c \
	tests/unit/net/test_relay.c
tests_unit_test_net_LDADD = src/net/libnet.a src/proto/libproto.a src/broker/libbroker.a \
	src/queue/libqueue.a src/base/libbase.a $(LIBEVENT_LIBS) $(OPENSSL_LIBS) $(ZLIB_LIBS) \
	$(CHECK_LIBS) $(YAJL_LIBS)
