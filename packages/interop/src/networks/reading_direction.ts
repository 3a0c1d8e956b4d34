/** The sides of a bidirectional layer as frameworks and users name them. */
const SIDES = [
  ['bw', 'fw'],
  ['bwd', 'fwd'],
  ['backward', 'forward'],
  ['backwards', 'forwards'],
  ['reverse', 'forward'],
] as const

/**
 * Whether the network in a scope reads the sequence from its end: a part of the scope is its backward side, and beside it is the same scope
 * of the other side. A scope `bw` suffices, as TensorFlow's functions for bidirectional networks write it.
 *
 * @param scopes every scope of the file that holds a network, joined by `/` or `.`
 */
export function readsBackward(scope: string, scopes: ReadonlySet<string>): boolean {
  if (/(?:^|\/)bw\//.test(scope)) return true
  return SIDES.some(([backward, forward]) => {
    const side = new RegExp(`(^|[/._-])${backward}(?=$|[/._\\d-])`, 'g')
    return side.test(scope) && scopes.has(scope.replace(side, `$1${forward}`))
  })
}
