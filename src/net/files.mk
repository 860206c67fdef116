# Listeners and connections. List every .c and .h of this folder.
noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_SOURCES = \
	src/net/admission.c src/net/admission.h \
	src/net/conn.c src/net/conn.h \
	src/net/conn_read.c \
	src/net/conn_state.c \
	src/net/conn_steps.h \
	src/net/conn_upgrade.c \
	src/net/conn_write.c \
	src/net/control.h \
	src/net/deliver.c src/net/deliver.h \
	src/net/directory.c src/net/directory.h \
	src/net/drain.c src/net/drain.h \
	src/net/listen.c src/net/listen.h \
	src/net/net.c src/net/net.h \
	src/net/ops.c src/net/ops.h \
	src/net/ops_hold.c src/net/ops_hold.h \
	src/net/relay.c src/net/relay.h \
	src/net/replay.c src/net/replay.h \
	src/net/resolver.c src/net/resolver.h \
	src/net/route.c src/net/route.h \
	src/net/socket.c src/net/socket.h \
	src/net/thread.c src/net/thread.h \
	src/net/timers.c src/net/timers.h \
	src/net/tls.c src/net/tls.h \
	src/net/worker.c src/net/worker.h
