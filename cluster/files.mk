# The other nodes. List every .c and .h of this folder.
noinst_LIBRARIES += cluster/libcluster.a
cluster_libcluster_a_SOURCES = \
	cluster/address.c cluster/address.h \
	cluster/cluster.c cluster/cluster.h \
	cluster/frame.c cluster/frame.h \
	cluster/inbound.c cluster/inbound.h \
	cluster/intake.c cluster/intake.h \
	cluster/link.c cluster/link.h \
	cluster/listener.c cluster/listener.h \
	cluster/lookup.c cluster/lookup.h \
	cluster/outframe.c cluster/outframe.h \
	cluster/outq.c cluster/outq.h \
	cluster/peer.c cluster/peer.h \
	cluster/pulse.c cluster/pulse.h \
	cluster/pump.c cluster/pump.h \
	cluster/refusals.c cluster/refusals.h \
	cluster/sock.c cluster/sock.h \
	cluster/tls.c cluster/tls.h \
	cluster/uses.h
