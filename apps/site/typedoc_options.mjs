import { Context, Converter, ReferenceType, ReflectionKind } from 'typedoc'
import ts from 'typescript'

/**
 * Shows options as their fields alone: their interfaces extend types that are made of tables of rules, which are internal.
 * TypeDoc would print the table as an ancestor, and the rules as default values. Options and results that no entry exports are
 * described where a function takes or returns them.
 */
export function load(app) {
  const exported = new Set()
  app.converter.on(Converter.EVENT_BEGIN, ({ programs }) => {
    const paths = app.options.getValue('entryPoints')
    for (const program of programs) {
      const checker = program.getTypeChecker()
      const modules = paths.map((path) => program.getSourceFile(path)).filter((file) => file !== undefined)
      for (const symbol of modules.flatMap((file) => checker.getExportsOfModule(checker.getSymbolAtLocation(file))))
        exported.add(symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
    }
  })
  const { shouldInline } = Context.prototype
  Context.prototype.shouldInline = function (symbol, name) {
    const own = this.resolveAliasedSymbol(symbol)
    return (isDescription(own) && !exported.has(own)) || shouldInline.call(this, symbol, name)
  }
  const optionsOf = ({ project }) => project.getReflectionsByKind(OPTIONS)
  // Before the plugin that draws hierarchies, and after the one that links fields to those they inherit.
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    for (const options of optionsOf(context)) options.extendedTypes = withoutTables(options.extendedTypes)
  })
  app.converter.on(
    Converter.EVENT_RESOLVE_END,
    (context) => {
      for (const field of optionsOf(context).flatMap(({ children = [] }) => children)) {
        delete field.defaultValue
        if (isOfTable(field.inheritedFrom)) delete field.inheritedFrom
        if (isOfTable(field.overwrites)) delete field.overwrites
      }
    },
    -1000,
  )
}

const OPTIONS = ReflectionKind.Interface | ReflectionKind.TypeLiteral

function withoutTables(types) {
  const others = types?.filter((type) => !isOfTable(type)) ?? []
  return others.length === 0 ? undefined : others
}

function isOfTable(type) {
  return type instanceof ReferenceType && /^(OptionsOf|Pick)\b/.test(type.name)
}

/** Whether a type of a package describes an object, a function or a choice. Those of `ops` are parts of tables. */
function isDescription({ declarations: [declaration] = [] }) {
  if (!/\/packages\/(?!ops\/)\w+\/src\//.test(declaration?.getSourceFile().fileName ?? '')) return false
  return ts.isInterfaceDeclaration(declaration) || DESCRIPTIONS.has(declaration.type?.kind)
}

const { TypeLiteral, IntersectionType, UnionType, FunctionType } = ts.SyntaxKind
const DESCRIPTIONS = new Set([TypeLiteral, IntersectionType, UnionType, FunctionType])
