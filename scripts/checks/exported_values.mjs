// The functions and classes that packages export, and which of them have an `@example`.
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Exported functions and classes of source files, each once, at the first entry that exports it:
 * { entry, name, place, hasExample }. Classes that are exported as types count, other constants than functions do not.
 *
 * @param entries [{ entry, source }], `entry` as it is imported.
 */
export function exportedCallables(entries) {
  const { config } = ts.readConfigFile(`${root}tsconfig.base.json`, ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const program = ts.createProgram(
    entries.map(({ source }) => source),
    { ...options, composite: false, noEmit: true },
  )
  const checker = program.getTypeChecker()
  const seen = new Set()
  return entries.flatMap(({ entry, source }) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(source))).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (seen.has(symbol) || !isCallable(checker, symbol)) return []
      seen.add(symbol)
      const { name } = exported
      const hasExample = symbol.getJsDocTags(checker).some((tag) => tag.name === 'example')
      return [{ entry, name, place: placeOf(symbol.valueDeclaration), hasExample }]
    }),
  )
}

function isCallable(checker, { flags, valueDeclaration }) {
  if (flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Function)) return true
  if (valueDeclaration === undefined || !ts.isVariableDeclaration(valueDeclaration)) return false
  return checker.getTypeAtLocation(valueDeclaration).getCallSignatures().length > 0
}

function placeOf(declaration) {
  const file = declaration.getSourceFile()
  const { line } = file.getLineAndCharacterOfPosition(declaration.getStart())
  return `${relative(root, file.fileName).replaceAll('\\', '/')}:${line + 1}`
}
