/** One cycle for every node that a walk from it reaches again, each cycle once. */
export function cycles(graph) {
  const found = []
  const done = new Set()
  const walk = (node, path) => {
    const begin = path.indexOf(node)
    if (begin >= 0) {
      found.push([...path.slice(begin), node])
      return
    }
    if (done.has(node)) return
    for (const next of graph.get(node) ?? []) walk(next, [...path, node])
    done.add(node)
  }
  for (const node of graph.keys()) walk(node, [])
  return found
}
