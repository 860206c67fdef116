# tests/unit/test-proto: the unit tests of src/proto, one file a module.
check_PROGRAMS += tests/unit/test-proto
tests_unit_test_proto_SOURCES = \
	tests/unit/proto/main.c \
	tests/unit/proto/parse.c tests/unit/proto/parse.h \
	tests/unit/proto/suites.h \
	tests/unit/proto/test_deflate.c \
	tests/unit/proto/test_delivery.c \
	tests/unit/proto/test_extensions.c \
	tests/unit/proto/test_frame_write.c \
	tests/unit/proto/test_http.c \
	tests/unit/proto/test_http_host.c \
	tests/unit/proto/test_prometheus.c \
	tests/unit/proto/test_proxy.c \
	tests/unit/proto/test_reason.c \
	tests/unit/proto/test_reply.c \
	tests/unit/proto/test_request_admin.c \
	tests/unit/proto/test_request_login.c \
	tests/unit/proto/test_request_memory.c \
	tests/unit/proto/test_request_publish.c \
	tests/unit/proto/test_request_subscriber.c \
	tests/unit/proto/test_websocket.c \
	tests/unit/proto/test_websocket_limits.c \
	tests/unit/proto/transcript.c tests/unit/proto/transcript.h
tests_unit_test_proto_LDADD = src/proto/libproto.a src/broker/libbroker.a src/queue/libqueue.a \
	src/base/libbase.a $(OPENSSL_LIBS) $(ZLIB_LIBS) $(CHECK_LIBS) $(YAJL_LIBS)
