// Options without a doc comment in the declarations that users install. The declarations are read and not the sources: a
// table of rules that spreads one of another file loses the comments of that one when the compiler writes declarations.
import ts from 'typescript'

/**
 * Fields without a doc comment of the exported types that are options by their names, each once, at the first entry that
 * exports it: { entry, type, field }.
 *
 * @param entries [{ entry, types }], `types` the path of the declarations.
 */
export function undocumentedOptions(entries) {
  const program = ts.createProgram(
    entries.map(({ types }) => types),
    { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, strict: true, noEmit: true },
  )
  const checker = program.getTypeChecker()
  const seen = new Set()
  return entries.flatMap(({ entry, types }) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(types))).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (seen.has(symbol) || !(symbol.flags & ts.SymbolFlags.Type) || !/Options$/.test(symbol.name)) return []
      seen.add(symbol)
      return checker
        .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
        .filter((field) => field.getDocumentationComment(checker).length === 0)
        .map((field) => ({ entry, type: exported.name, field: field.name }))
    }),
  )
}
