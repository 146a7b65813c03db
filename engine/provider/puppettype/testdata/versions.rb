# Writes testdata/versions.json: what the ranges of Puppet's own library have of a list of versions.
#   ruby testdata/versions.rb > testdata/versions.json
require 'json'
require 'semantic_puppet'

versions = %w[
  0.0.0-0 0.0.0 0.0.1-rc.1 0.0.1 0.0.2 0.1.0-alpha 0.1.0 0.1.1 0.2.0 0.9.9
  1.0.0-0 1.0.0-2 1.0.0-10 1.0.0-- 1.0.0-A 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1
  1.0.0 1.0.1-beta 1.0.1 1.2.0-rc.1 1.2.0 1.2.3-beta 1.2.3 1.2.4 1.3.0-0 1.3.0 1.10.0 2.0.0-0 2.0.0-rc.1 2.0.0 2.0.1 2.1.0 2.1.1 3.0.0 10.0.0 9223372036854775807.0.0
]
bases = %w[0 0.0 0.1 1 1.2 2.1 1.x 1.2.x 1.* 0.0.0 0.0.1 0.1.0 1.0.0 1.2.3 2.0.0 0.0.1-rc.1 1.0.0-beta 1.2.3-beta 2.0.0-0]
ranges = bases.product(['', '=', '>', '>=', '<', '<=', '~', '~>', '~=', '^']).map { |base, operator| operator + base }
ranges += bases.product(['1', '2.1', '1.2.3', '2.0.0-rc.1']).map { |low, high| "#{low} - #{high}" }
edges = ['>=1.0.0', '>1.0.0-alpha', '<2.0.0', '<=1.2.3-beta', '<1.0.0-beta', '~1.2', '^1.2.3-beta', '2.x', '1.0.0-rc.1', '*']
ranges += edges.product(edges).map { |a, b| "#{a} #{b}" }
ranges += ['*', 'x', 'X', '~*', '>=x', '<x', '>= 1.0.0 < 1.2.0', '~ 1.0.1', '^v1.2.3', '~v0.1.0-alpha', '1.X.X', '1.0.x || 2.0.x', '<0.0.1 || >=10.0.0', '1.0.0 || 1.2.3 || 2.0.0']

has = ranges.uniq.to_h do |text|
  range = SemanticPuppet::VersionRange.parse(text)
  [text, versions.select { |v| range.include?(SemanticPuppet::Version.parse(v)) }.join(' ')]
end
library = "semantic_puppet #{Gem.loaded_specs['semantic_puppet']&.version || '1.0.4'}"
puts JSON.pretty_generate('library' => library, 'versions' => versions.join(' '), 'ranges' => has)
