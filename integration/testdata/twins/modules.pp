concat { '/etc/twin.conf': ensure => present, owner => 'daemon', mode => '0640', ensure_newline => true }
concat::fragment { 'tail': target => '/etc/twin.conf', content => 'tail', order => '20' }
concat::fragment { 'head': target => '/etc/twin.conf', content => "head\n", order => '03' }
concat { '/etc/twin.json': format => 'json-pretty' }
concat::fragment { 'one': target => '/etc/twin.json', content => '{"a": {"x": 1}, "l": [1]}' }
concat::fragment { 'two': target => '/etc/twin.json', content => '{"a": {"y": 2}, "l": [2]}' }
concat { '/etc/twin.yaml': format => 'yaml' }
concat::fragment { 'three': target => '/etc/twin.yaml', content => "a: {x: 'yes'}\nl: [1, ~]\n" }
concat::fragment { 'four': target => '/etc/twin.yaml', content => "a: {z: no}\nl: [2.5]\n" }
file { '/etc/twin.lines': content => "a=1\n#b=1\nc=1\nc=2\nd\n", replace => false }
file_line { 'a': path => '/etc/twin.lines', line => 'a=2', match => '^a=' }
file_line { 'b': path => '/etc/twin.lines', line => 'b=2', match => '^b=', after => '^a=', require => File_line['a'] }
file_line { 'c': path => '/etc/twin.lines', ensure => absent, match => '^c=', match_for_absence => true, multiple => true, require => File_line['b'] }
file_line { 'd': path => '/etc/twin.lines', ensure => absent, line => 'd', require => File_line['c'] }
file_line { 'e': path => '/etc/twin.lines', line => 'e=1', match => '^e=', append_on_no_match => false, require => File_line['d'] }
