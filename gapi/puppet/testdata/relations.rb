# Prints the relations that Puppet finds in catalogs, one JSON document a line:
# for each of the files named behind the folder for its state, the edges between
# resources that are no containers, with what is between those left out.
require 'puppet'
require 'json'

dir = ARGV.shift
Puppet.initialize_settings(%w[confdir codedir vardir ssldir rundir logdir publicdir].flat_map { |s| ["--#{s}", File.join(dir, s)] })

def walk(graph, from, at, refresh, seen, found)
  graph.adjacent(at, direction: :out, type: :edges).each do |edge|
    through = refresh && !edge.callback.nil?
    to = edge.target
    if to.class.name == :whit
      walk(graph, from, to, through, seen + [to.ref], found) unless seen.include?(to.ref)
    elsif ![:schedule, :filebucket].include?(to.class.name)
      key = [from.ref, to.ref]
      found[key] ||= through
    end
  end
end

environment = Puppet::Node::Environment.create(:production, [])
Puppet.override(current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment)) do
  ARGV.each do |file|
    catalog = Puppet::Resource::Catalog.from_data_hash(JSON.parse(File.read(file)))
    graph = catalog.to_ral.relationship_graph
    found = {}
    graph.vertices.each { |v| walk(graph, v, v, true, [], found) unless v.class.name == :whit }
    puts JSON.generate(found.map { |k, refresh| { source: k[0], target: k[1], refresh: refresh } })
  end
end
