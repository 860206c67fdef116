# Completion of holdfastctl(8) for fish.
# Made by `holdfastctl completion fish`.

# The words before the cursor that are neither options nor their values.
function __holdfastctl_words
    set -l words (commandline -opc)
    set -l skip 0
    for word in $words[2..-1]
        if test $skip -eq 1
            set skip 0
        else if contains -- $word --json --yes --dry-run --all --no-wait --close --average --totals --binary --copy --no-ack --help --version; or string match -q -- '--*=*' $word
            continue
        else if string match -q -- '-*' $word
            set skip 1
        else
            echo $word
        end
    end
end
# So many words, and the first is this noun.
function __holdfastctl_at
    set -l words (__holdfastctl_words)
    test (count $words) -eq $argv[1]; and test "$words[1]" = "$argv[2]"
end
# One of these nouns, or noun/verb.
function __holdfastctl_in
    set -l words (__holdfastctl_words)
    contains -- "$words[1]" $argv; or contains -- "$words[1]/$words[2]" $argv
end

complete -c holdfastctl -f
complete -c holdfastctl -n '__holdfastctl_at 0' -a cluster -d 'look at the cluster, hand leadership over'
complete -c holdfastctl -n '__holdfastctl_at 0' -a queue -d 'create, list, show and delete queues'
complete -c holdfastctl -n '__holdfastctl_at 0' -a data -d 'data directory of a stopped node'
complete -c holdfastctl -n '__holdfastctl_at 0' -a msg -d 'messages of a queue'
complete -c holdfastctl -n '__holdfastctl_at 0' -a dlq -d 'the dead letter queue'
complete -c holdfastctl -n '__holdfastctl_at 0' -a session -d 'subscribers'\'' sessions, connected and saved'
complete -c holdfastctl -n '__holdfastctl_at 0' -a login -d 'the logins of a queue'
complete -c holdfastctl -n '__holdfastctl_at 0' -a cfg -d 'settings of a queue'
complete -c holdfastctl -n '__holdfastctl_at 0' -a stats -d 'counters of a queue'
complete -c holdfastctl -n '__holdfastctl_at 0' -a usage -d 'what a queue used'
complete -c holdfastctl -n '__holdfastctl_at 0' -a backup -d 'copy the queues into a file, examine one'
complete -c holdfastctl -n '__holdfastctl_at 0' -a restore -d 'a new cluster out of a backup'
complete -c holdfastctl -n '__holdfastctl_at 0' -a cert -d 'certificates for those who have no authority'
complete -c holdfastctl -n '__holdfastctl_at 0' -a pub -d 'publish messages'
complete -c holdfastctl -n '__holdfastctl_at 0' -a sub -d 'print messages and acknowledge them'
complete -c holdfastctl -n '__holdfastctl_at 0' -a bench -d 'measure rate and latency'
complete -c holdfastctl -n '__holdfastctl_at 0' -a top -d 'watch nodes and queues'
complete -c holdfastctl -n '__holdfastctl_at 0' -a context -d 'addresses and logins of queues, kept under a name'
complete -c holdfastctl -n '__holdfastctl_at 0' -a help -d 'what there is'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a status -d 'this node'\''s part in the cluster'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a leader -d 'the leader'\''s id'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a digest -d 'a digest of this node'\''s state'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a step-down -d 'hand leadership over'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a members -d 'who belongs to it, as the leader sees it'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a add -d 'take a node in, and wait until it is a voter'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a remove -d 'put a node out'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a replace -d 'take a node in for another'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a invite -d 'what a new node needs to join, in one file'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a join -d 'make the data directory of a new node'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a recover -d 'go on alone, after a majority is lost'
complete -c holdfastctl -n '__holdfastctl_at 1 cluster' -a level -d 'show or raise the level of what is written'
complete -c holdfastctl -n '__holdfastctl_at 1 queue' -a create -d 'make a queue and print its logins, once'
complete -c holdfastctl -n '__holdfastctl_at 1 queue' -a list -d 'all queues with their counters'
complete -c holdfastctl -n '__holdfastctl_at 1 queue' -a show -d 'one queue with its counters and settings'
complete -c holdfastctl -n '__holdfastctl_at 1 queue' -a delete -d 'delete a queue with all its messages'
complete -c holdfastctl -n '__holdfastctl_at 1 data' -a init -d 'make a node'\''s data directory, once'
complete -c holdfastctl -n '__holdfastctl_at 1 data' -a check -d 'examine that of a stopped node'
complete -c holdfastctl -n '__holdfastctl_at 1 data' -a repair -d 'mend that of a node that no other can help'
complete -c holdfastctl -n '__holdfastctl_at 1 msg' -a list -d 'messages: waiting, held and delayed'
complete -c holdfastctl -n '__holdfastctl_at 1 msg' -a get -d 'one message with its body'
complete -c holdfastctl -n '__holdfastctl_at 1 msg' -a add -d 'publish a message'
complete -c holdfastctl -n '__holdfastctl_at 1 msg' -a delete -d 'delete a message'
complete -c holdfastctl -n '__holdfastctl_at 1 msg' -a purge -d 'delete waiting messages, or all with --all'
complete -c holdfastctl -n '__holdfastctl_at 1 msg' -a history -d 'what a message went through'
complete -c holdfastctl -n '__holdfastctl_at 1 dlq' -a list -d 'dead letters'
complete -c holdfastctl -n '__holdfastctl_at 1 dlq' -a get -d 'one dead letter with its body'
complete -c holdfastctl -n '__holdfastctl_at 1 dlq' -a move -d 'make a message a dead letter'
complete -c holdfastctl -n '__holdfastctl_at 1 dlq' -a delete -d 'delete a dead letter'
complete -c holdfastctl -n '__holdfastctl_at 1 dlq' -a redrive -d 'put dead letters back among the waiting'
complete -c holdfastctl -n '__holdfastctl_at 1 dlq' -a purge -d 'delete dead letters'
complete -c holdfastctl -n '__holdfastctl_at 1 session' -a list -d 'sessions, since when, and what they hold'
complete -c holdfastctl -n '__holdfastctl_at 1 session' -a end -d 'end a session; its messages go to others'
complete -c holdfastctl -n '__holdfastctl_at 1 login' -a list -d 'names of the logins, how many use them now'
complete -c holdfastctl -n '__holdfastctl_at 1 login' -a rotate -d 'a new password, printed once'
complete -c holdfastctl -n '__holdfastctl_at 1 cfg' -a get -d 'all settings, or one'
complete -c holdfastctl -n '__holdfastctl_at 1 cfg' -a set -d 'change settings, all of them or none'
complete -c holdfastctl -n '__holdfastctl_at 1 stats' -a live -d 'the counters now'
complete -c holdfastctl -n '__holdfastctl_at 1 stats' -a day -d 'counters of a day in UTC, or of today'
complete -c holdfastctl -n '__holdfastctl_at 1 usage' -a day -d 'usage of a day in UTC, or of today'
complete -c holdfastctl -n '__holdfastctl_at 1 backup' -a verify -d 'examine a backup, say what is in it'
complete -c holdfastctl -n '__holdfastctl_at 1 cert' -a ca -d 'make a certificate authority'
complete -c holdfastctl -n '__holdfastctl_at 1 cert' -a node -d 'make a certificate for the cluster port'
complete -c holdfastctl -n '__holdfastctl_at 1 cert' -a client-tls -d 'make a certificate for the client port'
complete -c holdfastctl -n '__holdfastctl_at 1 cert' -a show -d 'say what a certificate is for and until when'
complete -c holdfastctl -n '__holdfastctl_at 1 context' -a list -d 'all contexts'
complete -c holdfastctl -n '__holdfastctl_at 1 context' -a show -d 'one context, or the one in use'
complete -c holdfastctl -n '__holdfastctl_at 1 context' -a use -d 'take this one from now on'
complete -c holdfastctl -n '__holdfastctl_at 1 context' -a set -d 'make a context, or change what is given'
complete -c holdfastctl -n '__holdfastctl_at 1 context' -a delete -d 'forget a context'
complete -c holdfastctl -n '__holdfastctl_in data/check data/repair backup backup/verify restore cert/ca cert/show' -F

complete -c holdfastctl -l json -d 'one JSON document on standard output'
complete -c holdfastctl -n '__holdfastctl_in cluster/status cluster/leader cluster/digest cluster/step-down cluster/members cluster/add cluster/remove cluster/replace cluster/invite cluster/level queue/create queue/list queue/show queue/delete msg/purge msg/history dlq/redrive dlq/purge session/list session/end login/list login/rotate backup top' -l socket -r -F -d 'control socket of a node'
complete -c holdfastctl -n '__holdfastctl_in cluster/status cluster/leader cluster/digest cluster/step-down cluster/members cluster/add cluster/remove cluster/replace cluster/invite cluster/level queue/create queue/list queue/show queue/delete msg/list msg/get msg/add msg/delete msg/purge msg/history dlq/list dlq/get dlq/move dlq/delete dlq/redrive dlq/purge session/list session/end login/list login/rotate cfg/get cfg/set stats/live stats/day usage/day backup pub sub bench top' -l timeout -x -d 'how long to wait for an answer (10)'
complete -c holdfastctl -n '__holdfastctl_in msg/list msg/get msg/add msg/delete msg/purge msg/history dlq/list dlq/get dlq/move dlq/delete dlq/redrive dlq/purge cfg/get cfg/set stats/live stats/day usage/day pub sub bench context/set' -l url -x -d 'wss://HOST:PORT/ of a queue'
complete -c holdfastctl -n '__holdfastctl_in msg/list msg/get msg/add msg/delete msg/purge msg/history dlq/list dlq/get dlq/move dlq/delete dlq/redrive dlq/purge cfg/get cfg/set stats/live stats/day usage/day pub sub bench context/set' -l login-file -r -F -d 'what queue create or login rotate printed'
complete -c holdfastctl -n '__holdfastctl_in msg/list msg/get msg/add msg/delete msg/purge msg/history dlq/list dlq/get dlq/move dlq/delete dlq/redrive dlq/purge cfg/get cfg/set stats/live stats/day usage/day pub sub bench context/set' -l ca -r -F -d 'certificate authority of the server'
complete -c holdfastctl -n '__holdfastctl_in msg/list msg/get msg/add msg/delete msg/purge msg/history dlq/list dlq/get dlq/move dlq/delete dlq/redrive dlq/purge cfg/get cfg/set stats/live stats/day usage/day pub sub bench context/set' -l host -x -d 'the queue'\''s host name, if URL has another'
complete -c holdfastctl -n '__holdfastctl_in msg/list msg/get msg/add msg/delete msg/purge msg/history dlq/list dlq/get dlq/move dlq/delete dlq/redrive dlq/purge cfg/get cfg/set stats/live stats/day usage/day pub sub bench' -l context -x -d 'address and logins kept by context set'
complete -c holdfastctl -n '__holdfastctl_in cluster/remove cluster/replace cluster/recover queue/delete data/repair msg/delete msg/purge dlq/delete dlq/purge session/end login/rotate backup cert/ca cert/node cert/client-tls bench context/delete' -l yes -d 'do not ask'
complete -c holdfastctl -n '__holdfastctl_in msg/purge dlq/redrive dlq/purge' -l dry-run -d 'say what would be done, and do nothing'
complete -c holdfastctl -n '__holdfastctl_in cluster/join cluster/recover data/init data/check data/repair restore' -l config -r -F -d 'configuration of the node'
complete -c holdfastctl -n '__holdfastctl_in cluster/step-down' -l to -x -d 'the node that takes over'
complete -c holdfastctl -n '__holdfastctl_in queue/create' -l tier -x -a 'standard dev' -d 'size of the queue'
complete -c holdfastctl -n '__holdfastctl_in msg/purge dlq/redrive' -l all -d 'all of them'
complete -c holdfastctl -n '__holdfastctl_in msg/list msg/purge dlq/list dlq/redrive dlq/purge pub sub bench top' -l count -x -d 'so many of them, and no more'
complete -c holdfastctl -n '__holdfastctl_in msg/purge dlq/redrive dlq/purge' -l filter -x -d 'only those that fit'
complete -c holdfastctl -n '__holdfastctl_in msg/purge msg/history dlq/redrive dlq/purge session/list session/end login/list login/rotate backup restore' -l queue -x -d 'the queue'
complete -c holdfastctl -n '__holdfastctl_in cluster/add cluster/remove' -l no-wait -d 'do not wait until it is done'
complete -c holdfastctl -n '__holdfastctl_in login/rotate' -l close -d 'close the connections that use it, too'
complete -c holdfastctl -n '__holdfastctl_in cluster/join' -l invite -r -F -d 'what cluster invite printed'
complete -c holdfastctl -n '__holdfastctl_in cluster/invite cert/node cert/client-tls' -l ca-cert -r -F -d 'certificate of the authority'
complete -c holdfastctl -n '__holdfastctl_in cluster/invite cert/node cert/client-tls' -l ca-key -r -F -d 'key of the authority'
complete -c holdfastctl -n '__holdfastctl_in cluster/invite cert/node cert/client-tls' -l out -r -F -d 'where to write'
complete -c holdfastctl -n '__holdfastctl_in cert/ca cert/node cert/client-tls' -l days -x -d 'for how long it holds'
complete -c holdfastctl -n '__holdfastctl_in cert/node cert/client-tls' -l dns -x -d 'host names and addresses'
complete -c holdfastctl -n '__holdfastctl_in msg/list dlq/list' -l after -x -d 'those behind this message'
complete -c holdfastctl -n '__holdfastctl_in msg/list dlq/list' -l before -x -d 'those ahead of this message'
complete -c holdfastctl -n '__holdfastctl_in stats/day' -l average -d 'one line of averages'
complete -c holdfastctl -n '__holdfastctl_in usage/day' -l totals -d 'one line for the whole day'
complete -c holdfastctl -n '__holdfastctl_in top' -l interval -x -d 'between two looks (1)'
complete -c holdfastctl -n '__holdfastctl_in msg/add pub bench' -l durability -x -a '0 1 2' -d 'what a confirm stands for (1)'
complete -c holdfastctl -n '__holdfastctl_in msg/add pub' -l delay -x -d 'until it is ready'
complete -c holdfastctl -n '__holdfastctl_in msg/add pub' -l key -x -d 'the publisher'\''s key'
complete -c holdfastctl -n '__holdfastctl_in msg/add pub sub' -l binary -d 'any bytes rather than text'
complete -c holdfastctl -n '__holdfastctl_in pub sub bench' -l copy -d 'the copy queue'
complete -c holdfastctl -n '__holdfastctl_in sub bench' -l capacity -x -d 'how many may be held (256)'
complete -c holdfastctl -n '__holdfastctl_in sub' -l no-ack -d 'leave them unacknowledged'
complete -c holdfastctl -n '__holdfastctl_in bench' -l publishers -x -d 'connections that publish (4)'
complete -c holdfastctl -n '__holdfastctl_in bench' -l subscribers -x -d 'connections that consume (4)'
complete -c holdfastctl -n '__holdfastctl_in bench' -l window -x -d 'unconfirmed publishes of each (256)'
complete -c holdfastctl -n '__holdfastctl_in bench' -l size -x -d 'of a body (1024)'
complete -c holdfastctl -n '__holdfastctl_in bench' -l seconds -x -d 'end after so long (10)'
complete -c holdfastctl -l help -d 'what there is'
complete -c holdfastctl -n '__holdfastctl_in' -l version -d 'the version'
