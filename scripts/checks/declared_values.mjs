import { createRequire } from 'node:module'
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'

const require = createRequire(import.meta.url)

/**
 * Compares the values that declarations export with those that modules have at run time. Returns one line for each
 * difference.
 *
 * @param root the folder that paths in the lines are relative to.
 * @param entries [{ types, module }]: the paths of `index.d.ts` and `index.js`, or of `index.d.cts` and `index.cjs`.
 */
export async function declaredValueErrors(root, entries) {
  const program = ts.createProgram(
    entries.map(({ types }) => types),
    {
      ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
      ...{ target: ts.ScriptTarget.ES2022, skipLibCheck: true, noEmit: true, types: [] },
    },
  )
  const checker = program.getTypeChecker()
  const errors = []
  for (const { types, module } of entries) {
    const symbol = checker.getSymbolAtLocation(program.getSourceFile(types))
    // The type of a namespace has the properties that `import * as name` has: types are not among them.
    const declared = new Set(
      checker
        .getTypeOfSymbol(symbol)
        .getProperties()
        .map(({ name }) => name),
    )
    // An import of CommonJS has the names that Node.js finds in its text, not the module's.
    const values = module.endsWith('.cjs') ? require(module) : await import(pathToFileURL(module))
    const present = new Set(Object.keys(values))
    const path = relative(root, types).replaceAll('\\', '/')
    for (const [name, value] of Object.entries(values))
      if (value?.name === `_${name}`) errors.push(`${path} has a class ${name} that prints as ${value.name}`)
    for (const name of declared)
      if (!present.has(name)) errors.push(`${path} declares a value ${name}; the module has none`)
    for (const name of present) if (!declared.has(name)) errors.push(`${path} lacks the value ${name} of the module`)
  }
  return errors
}
