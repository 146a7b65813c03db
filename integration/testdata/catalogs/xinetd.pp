include xinetd
xinetd::service { 'echo2': port => '7', server => '/bin/cat' }
