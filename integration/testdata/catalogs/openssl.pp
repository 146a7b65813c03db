class { 'openssl': }
openssl::certificate::x509 { 'foo': country => 'CH', organization => 'Example', commonname => 'foo.example.com' }
