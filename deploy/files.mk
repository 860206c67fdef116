# What `make install` puts beside the programs: shell completions, examples, and, when configure was told where units go,
# the systemd unit with the snippets that make its user and its data directory.
bashcompletiondir = $(datadir)/bash-completion/completions
bashcompletion_DATA = deploy/completion/holdfastctl
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = deploy/completion/_holdfastctl
fishcompletiondir = $(datadir)/fish/vendor_completions.d
fishcompletion_DATA = deploy/completion/holdfastctl.fish

examplesdir = $(docdir)/examples
examples_DATA = \
	deploy/holdfast.conf \
	deploy/dns/q.example.net.zone \
	deploy/grafana/holdfast.json \
	deploy/prometheus/holdfast.rules.yml \
	deploy/prometheus/prometheus.yml

if HAVE_SYSTEMD
systemdsystemunit_DATA = units/holdfast.service
sysusersdir = $(prefix)/lib/sysusers.d
sysusers_DATA = deploy/holdfast-users.conf
tmpfilesdir = $(prefix)/lib/tmpfiles.d
tmpfiles_DATA = deploy/holdfast-data.conf
endif

# The unit names the program by its path.
CLEANFILES = units/holdfast.service
units/holdfast.service: $(srcdir)/deploy/holdfast.service Makefile
	$(AM_V_GEN)$(MKDIR_P) units && \
	    sed 's|/usr/local/sbin/|$(sbindir)/|' $(srcdir)/deploy/holdfast.service >$@.new && mv $@.new $@
