// Rules of examples that the compiler does not check.
import ts from 'typescript'

const FACADE = '@cudnn-rnn/rnn'

/**
 * Failures of examples, as lines: a declaration by `using`, which Node.js 20 cannot parse; an import from a package of a name
 * that the facade exports, which fails with pnpm if a program depends on the facade alone. The README of a package is for
 * programs that depend on that package.
 *
 * @param examples of docExamples
 * @param entries [{ entry, types }] of the public packages
 */
export function exampleRules(examples, entries) {
  const homes = facadeEntries(entries)
  return examples.flatMap(({ file, line, code }) => {
    const { statements } = ts.createSourceFile('example.ts', code, ts.ScriptTarget.ESNext)
    const failures = /^\s*(await )?using \w/m.test(code) ? ['Node.js 20 has no `using`: dispose by a call'] : []
    if (!/^packages\/.*\.md$/.test(file))
      failures.push(...statements.flatMap((statement) => strayImports(statement, homes)))
    return failures.map((failure) => `${file}:${line}: ${failure}`)
  })
}

/**
 * For each entry of another package, the entry of the facade that has the same export, by name. Other entries than the
 * main one of a package are smaller builds on purpose.
 */
function facadeEntries(entries) {
  const program = ts.createProgram(
    entries.map(({ types }) => types),
    { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, noLib: true },
  )
  const checker = program.getTypeChecker()
  const exportsOf = ({ types }) => checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(types)))
  const declared = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
  const isFacade = ({ entry }) => entry === FACADE || entry.startsWith(`${FACADE}/`)
  const homes = new Map(
    entries.filter(isFacade).flatMap((facade) => exportsOf(facade).map((symbol) => [declared(symbol), facade.entry])),
  )
  return new Map(
    entries
      .filter(({ entry }) => entry.split('/').length === 2)
      .map((other) => [
        other.entry,
        new Map(exportsOf(other).map((symbol) => [symbol.name, homes.get(declared(symbol))])),
      ]),
  )
}

function strayImports(statement, homes) {
  const from = statement.moduleSpecifier?.text
  if (!ts.isImportDeclaration(statement) || from === FACADE || !homes.has(from)) return []
  const { elements = [] } = statement.importClause?.namedBindings ?? {}
  return elements.flatMap(({ name, propertyName = name }) => {
    const home = homes.get(from).get(propertyName.text)
    return home === undefined ? [] : [`import ${propertyName.text} from ${home}, not from ${from}`]
  })
}
