# What only the leader knows. List every .c and .h of this folder.
noinst_LIBRARIES += src/broker/libbroker.a
src_broker_libbroker_a_SOURCES = \
	src/broker/admin.c src/broker/admin.h \
	src/broker/admin_bulk.c src/broker/admin_bulk.h \
	src/broker/admin_read.c src/broker/admin_read.h \
	src/broker/batch.c src/broker/batch.h \
	src/broker/broker.c src/broker/broker.h \
	src/broker/bulk.c \
	src/broker/check.c \
	src/broker/clock.c src/broker/clock.h \
	src/broker/client.c src/broker/client.h \
	src/broker/copy.c src/broker/copy.h \
	src/broker/delay.c src/broker/delay.h \
	src/broker/dispatch.c src/broker/dispatch.h \
	src/broker/effects.c src/broker/effects.h \
	src/broker/inside.h \
	src/broker/login.c src/broker/login.h \
	src/broker/operate.c src/broker/operate.h \
	src/broker/parcel.c src/broker/parcel.h \
	src/broker/part.c src/broker/part.h \
	src/broker/pass_on.c \
	src/broker/publish.c src/broker/publish.h \
	src/broker/session.c src/broker/session.h \
	src/broker/settle.c src/broker/settle.h \
	src/broker/stats.c src/broker/stats.h \
	src/broker/story.c src/broker/story.h \
	src/broker/timer.c src/broker/timer.h
