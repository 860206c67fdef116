# What every node knows. List every .c and .h of this folder.
noinst_LIBRARIES += src/queue/libqueue.a
src_queue_libqueue_a_SOURCES = \
	src/queue/admin.c src/queue/admin.h \
	src/queue/apply.c \
	src/queue/digest.c src/queue/digest.h \
	src/queue/history.c src/queue/history.h \
	src/queue/image.c src/queue/image.h src/queue/image_format.h \
	src/queue/image_loader.c \
	src/queue/image_spot.c src/queue/image_spot.h \
	src/queue/journal.c src/queue/journal.h src/queue/journal_notes.h \
	src/queue/level.c src/queue/level.h \
	src/queue/login.h \
	src/queue/lookup.c \
	src/queue/message.c \
	src/queue/model.h \
	src/queue/place.c src/queue/place.h \
	src/queue/place_queue.c \
	src/queue/pool.c \
	src/queue/record.c src/queue/record.h \
	src/queue/record_decode.c \
	src/queue/record_fields.h \
	src/queue/rollback.c \
	src/queue/salvage.c src/queue/salvage.h \
	src/queue/session.c \
	src/queue/settings.c src/queue/settings.h \
	src/queue/state.c src/queue/state.h \
	src/queue/state_check.c \
	src/queue/sweep.c src/queue/sweep.h \
	src/queue/trail.c src/queue/trail.h \
	src/queue/verbs.h
