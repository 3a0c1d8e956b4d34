import ts from 'typescript'

/**
 * A bundle of declarations whose exports carry the `type` of the entry's source. The bundler of declarations drops
 * `export type` of a class, so that the class compiles as a value that the module does not have at run time.
 *
 * @param source the text of the entry, `src/index.ts`.
 * @param declarations the text of its bundle, `dist/index.d.ts`.
 */
export function markTypeExports(source, declarations) {
  const typeOnly = new Set(
    exportSpecifiers(source).flatMap((specifier) => (isTypeOnly(specifier) ? [specifier.name.text] : [])),
  )
  const places = exportSpecifiers(declarations).flatMap((specifier) =>
    typeOnly.has(specifier.name.text) && !isTypeOnly(specifier) ? [specifier.getStart()] : [],
  )
  const parts = [0, ...places].map((start, index) => declarations.slice(start, places[index]))
  return parts.join('type ')
}

/** The names in `export { … }` and `export { … } from '…'`. */
function exportSpecifiers(text) {
  const file = ts.createSourceFile('index.d.ts', text, ts.ScriptTarget.Latest, true)
  return file.statements.flatMap((statement) =>
    ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause)
      ? [...statement.exportClause.elements]
      : [],
  )
}

/** Either of `export type { A }` and `export { type A }`. */
function isTypeOnly(specifier) {
  return specifier.isTypeOnly || specifier.parent.parent.isTypeOnly
}
