# Completion of holdfastctl(8) for fish.
# tests/style/deploy compares commands and options with those of `holdfastctl help`.

set -l nouns cluster queue data pub sub bench help
set -l clients 'pub sub bench'

function __holdfastctl_lacks_verb --argument-names noun
    set -l words (commandline -poc)
    contains -- $noun $words; and test $words[-1] = $noun
end

# Files only where an option or a command takes them.
complete -c holdfastctl -f

complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a cluster -d 'look at the cluster, hand leadership over'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a queue -d 'create, list, show and delete queues'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a data -d 'data directory of a stopped node'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a pub -d 'publish messages'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a sub -d 'print messages and acknowledge them'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a bench -d 'measure rate and latency'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -a help -d 'what there is'

complete -c holdfastctl -n '__holdfastctl_lacks_verb cluster' -a status -d "this node's part in the cluster"
complete -c holdfastctl -n '__holdfastctl_lacks_verb cluster' -a leader -d "the leader's id"
complete -c holdfastctl -n '__holdfastctl_lacks_verb cluster' -a digest -d "a digest of this node's state"
complete -c holdfastctl -n '__holdfastctl_lacks_verb cluster' -a step-down -d 'hand leadership over'
complete -c holdfastctl -n '__holdfastctl_lacks_verb queue' -a create -d 'make a queue and print its logins, once'
complete -c holdfastctl -n '__holdfastctl_lacks_verb queue' -a list -d 'all queues with their counters'
complete -c holdfastctl -n '__holdfastctl_lacks_verb queue' -a show -d 'one queue with its counters and settings'
complete -c holdfastctl -n '__holdfastctl_lacks_verb queue' -a delete -d 'delete a queue with all its messages'
complete -c holdfastctl -n '__holdfastctl_lacks_verb data' -a init -d "make a node's data directory, once"
complete -c holdfastctl -n '__holdfastctl_lacks_verb data' -a check -d 'examine that of a stopped node'
complete -c holdfastctl -n '__holdfastctl_lacks_verb data' -a repair -d 'mend that of a node that no other can help'
complete -c holdfastctl -n '__fish_seen_subcommand_from data; and __fish_seen_subcommand_from check repair' -a '(__fish_complete_directories)'

complete -c holdfastctl -l json -d 'one JSON document on standard output'
complete -c holdfastctl -l timeout -x -d 'seconds to wait for an answer'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $clients data" -l socket -r -F -d 'control socket of a node'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -l help -d 'what there is'
complete -c holdfastctl -n "not __fish_seen_subcommand_from $nouns" -l version -d 'the version'
complete -c holdfastctl -n '__fish_seen_subcommand_from step-down' -l to -x -d 'id of the node that takes over'
complete -c holdfastctl -n '__fish_seen_subcommand_from create' -l tier -x -a 'standard dev' -d 'size of the queue'
complete -c holdfastctl -n '__fish_seen_subcommand_from data' -l config -r -F -d 'configuration of the node'
complete -c holdfastctl -n '__fish_seen_subcommand_from repair' -l yes -d 'do not ask'

complete -c holdfastctl -n "__fish_seen_subcommand_from $clients" -l url -x -d 'wss://HOST:PORT/'
complete -c holdfastctl -n "__fish_seen_subcommand_from $clients" -l login-file -r -F -d 'what queue create printed'
complete -c holdfastctl -n "__fish_seen_subcommand_from $clients" -l ca -r -F -d 'certificate authority'
complete -c holdfastctl -n "__fish_seen_subcommand_from $clients" -l host -x -d "the queue's host name"
complete -c holdfastctl -n '__fish_seen_subcommand_from pub bench' -l durability -x -a '0 1 2' -d 'what a confirm stands for'
complete -c holdfastctl -n "__fish_seen_subcommand_from $clients" -l count -x -d 'end after so many'
complete -c holdfastctl -n '__fish_seen_subcommand_from pub' -l delay -x -d 'seconds until it is ready'
complete -c holdfastctl -n '__fish_seen_subcommand_from pub' -l key -x -d "the publisher's key"
complete -c holdfastctl -n '__fish_seen_subcommand_from pub sub' -l binary -d 'any bytes rather than text'
complete -c holdfastctl -n '__fish_seen_subcommand_from pub sub' -l copy -d 'use the copy queue'
complete -c holdfastctl -n '__fish_seen_subcommand_from sub' -l capacity -x -d 'how many may be held'
complete -c holdfastctl -n '__fish_seen_subcommand_from sub' -l no-ack -d 'leave them unacknowledged'
complete -c holdfastctl -n '__fish_seen_subcommand_from bench' -l publishers -x -d 'connections that publish'
complete -c holdfastctl -n '__fish_seen_subcommand_from bench' -l subscribers -x -d 'connections that consume'
complete -c holdfastctl -n '__fish_seen_subcommand_from bench' -l window -x -d 'unconfirmed publishes of each publisher'
complete -c holdfastctl -n '__fish_seen_subcommand_from bench' -l size -x -d 'bytes of a body'
complete -c holdfastctl -n '__fish_seen_subcommand_from bench' -l seconds -x -d 'end after so long'
