# Wire codecs. List every .c and .h of this folder.
noinst_LIBRARIES += src/proto/libproto.a
src_proto_libproto_a_SOURCES = \
	src/proto/deflate.c src/proto/deflate.h \
	src/proto/delivery.c src/proto/delivery.h \
	src/proto/extensions.c src/proto/extensions.h \
	src/proto/fields.h \
	src/proto/frame_write.c \
	src/proto/http.c src/proto/http.h \
	src/proto/http_host.c \
	src/proto/prometheus.c src/proto/prometheus.h \
	src/proto/proxy.c src/proto/proxy.h \
	src/proto/put.h \
	src/proto/reason.c src/proto/reason.h \
	src/proto/reply.c src/proto/reply.h \
	src/proto/request.c src/proto/request.h \
	src/proto/request_admin.c \
	src/proto/request_bulk.c \
	src/proto/request_login.c \
	src/proto/request_publish.c \
	src/proto/request_subscriber.c \
	src/proto/room.h \
	src/proto/websocket.c src/proto/websocket.h
