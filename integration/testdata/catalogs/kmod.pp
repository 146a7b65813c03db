include kmod
kmod::load { 'loop': }
kmod::option { 'loop max': module => 'loop', option => 'max_loop', value => '8' }
kmod::blacklist { 'pcspkr': }
