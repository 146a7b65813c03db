# Writes testdata/ruby.json: in which texts Ruby itself finds each regular expression.
#   ruby testdata/ruby.rb > testdata/ruby.json
require 'json'

# One expression is one line. Each is looked for in all texts.
sources = DATA.read.lines(chomp: true).reject(&:empty?)
sources << "(?x) a b # and\nc"
texts = [
  '', 'a', 'b', 'c', 'aa', 'aaa', 'ab', 'abc', 'abab', 'a b c', 'aBc', 'ABC', "a\n", "a\nb", "a\nb\n", "b\n\n", "\n", "\r\n", "\v", ' ', "\t", "a\r\nb",
  '0', '5', '0fF', 'g', '_', '-', ']', '[', '\\', '{', 'a{x}', 'a{,}', 'é', 'É', 'éa', 'aé', 'a é', 'ß', 'ſ', 'K', 'k', 'ª', 'ⅷ', 'ⓐ', "\u{1f130}", "\u0345", 'λ', 'Σ', 'ς', '٣', '²', 'Ⅷ', '€', '$', '+', '^', '`', '~', '|', '<',
  "\u0301", "\u00a0", "\u0085", "\u2028", "\u200b", "\u3000", "\e", "\x01", "\x7f", "\b", 'foobar', 'foo.bar', '/usr/bin', '0xdeadbeef', '::1', 'www.example.org', 'x-1', '1-2', 'a&b', '𝒳', '😀', "\u{10ffff}",
]

cases = sources.to_h do |source|
  begin
    re = Regexp.new(source)
    [source, texts.each_index.select { |i| re.match?(texts[i]) }]
  rescue RegexpError
    [source, nil] # Ruby refuses it
  end
end
puts "{\n\"ruby\": #{RUBY_VERSION.to_json},\n\"texts\": #{texts.to_json},\n\"cases\": {"
puts cases.map { |source, found| "#{source.to_json}: #{found.to_json}" }.join(",\n")
puts '}}'

__END__
b
^b$
^b
b$
^$
^
$
\Ab\z
\Ab\Z
a\Z
a\Z|b
\A\Z
\A\z
^a\nb$
\A\h+\z
\A\H\z
\A[\h_]+\z
\A[\H]\z
\A[^\h]\z
\A\s\z
\A\S+\z
\A\d\z
\A\D\z
\A\w\z
\A\W\z
\A\w+\z
(?<year>\d+)-(?<year>\d+)
(?<naïve>a)
(?'q'a)b
(?<n>a)(b)
a.b
\A.\z
\A.+\z
(?m)\A.+\z
(?m)a.b
(?m:a.)b.
(?i)\Aabc\z
a(?i)b(?-i)c
a(?i)b|c
(?i-m:b)c
(?i)é
(?i)k
(?i)ß
(?i)s
(?i)σ
(?i)[k]
(?i)\A[^k]\z
(?i)\A[a-z]+\z
(?x: a \ b ) c
(a(?x) b )c
(a(?x) b ) c
((?i)a|(?-i)b)c
a|(?i)b|c
(?mix)A . b
\Aa{,2}\z
\Aa{1,2}+\z
\Aa{2}\z
\Aa{2,}\z
\A(?:ab){2}?\z
\A(ab){1,2}?\z
a{x}
a{,}
\Aa{1}{2}\z
\Aa**\z
\Aa+*\z
\Aa??\z
\Aa+?\z
\A[a-z&&[^aeiou]]+\z
\A[a-c[x-z]]+\z
\A[[:alpha:]]+\z
\A[[:^alpha:]_]+\z
\A[[:alnum:]]\z
\A[[:upper:]]\z
\A[[:lower:]]\z
\A[[:digit:]]\z
\A[[:space:]]\z
\A[[:blank:]]\z
\A[[:punct:]]\z
\A[[:cntrl:]]\z
\A[[:xdigit:]]\z
\A[[:word:]]\z
\A[[:graph:]]\z
\A[[:print:]]\z
\A[[:ascii:]]\z
\A[^[:space:]]+\z
\A\p{Alpha}\z
\A\p{^Alpha}\z
\A\P{L}\z
\A\p{Greek}\z
\A\p{Word}\z
\A\p{Any}\z
\A\p{Punct}\z
\A\p{Space}\z
\A\p{N}\z
\A\p{Nd}\z
\A\p{Emoji}\z
\A[\p{Lu}\d]\z
\A[]a]\z
\A[^]a]\z
\A[a\-c]\z
\A[a-]\z
\A[-a]\z
\A[a-c-e]\z
\A[\b]\z
\A[\[\]]\z
\A[[]\z
\A[a&&]\z
\A[&&a]\z
\A[a&&b]\z
\A[a-z&&b-y&&[^c]]\z
\A[^a-z&&b]\z
\bfoo
foo\b
\ba
a\b
\Ba
a\B
\bé
é\b
\u00e9
\u{e9}
\u{61 62}
\x41
\101
\e
\cA
\C-a
\M-a
\0
\8
\R
\A\R\z
\X
\A\X\z
foo\Kbar
\/\-\_\:\é\y
a(?#not seen)b
[^&]&[^&]
\A[[a-f]&&[d-z]&&[^e]]\z
\A[[^a-zx-y]&&[a-z1]]\z
a(?=b)
a(?!b)
(?<=a)b
(?<!a)b
(?>a+)b
(?>a|ab)c
a++b
a*+a
a?+
(?~ab)
(a)?(?(1)b|c)
(a)\1
(a)(b)\2
(?<n>a)\k<n>
(?<n>a|b)\g<n>
\G
a|*
*a
+a
?a
{2}a
a{2,1}
(
)
a)
[
]
}
[z-a]
[]
[^]
[[:nope:]]
\p{Nope}
(?z)
(?<n
\xg
\
()
(|a)
(?:)
||
\A(0x)?\h{8}\Z
\A(?:[a-zA-Z]:[\\\/]|\\\\[^\/\\]+)
^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])\.)*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]*[A-Za-z0-9])$
\A\/([^\n\/\0]+\/*)*\z
