# Containers, stages and the forms in which references come.
class web {
  file { '/srv/web': ensure => directory }
  file { '/srv/web/conf': content => "x\n", alias => 'conf' }
  notify { 'in web': }
  contain web::service
}
class web::service { exec { '/bin/restart web': refreshonly => true } }
class empty { }
class early { notify { 'early': } }
define site($content) {
  file { "/srv/${title}": content => $content }
  exec { "enable ${title}": command => ['/bin/enable', $title], refreshonly => true }
}
stage { 'first': before => Stage['main'] }
class { 'early': stage => first }
include web, empty
site { 'a': content => '1', require => Class['web'], noop => true }
site { 'b': content => Sensitive('2'), subscribe => File['conf'] }
Site['a'] ~> exec { 'reload': command => '/bin/reload', refreshonly => true } -> Class['empty'] -> notify { 'last': }
Class['web'] ~> Exec['reload']
