import { Converter, ReferenceType, ReflectionKind } from 'typedoc'

/**
 * Shows options as their fields alone: their interfaces extend types that are made of tables of rules, which are internal.
 * TypeDoc would print the table as an ancestor, and the rules as default values.
 */
export function load(app) {
  const optionsOf = ({ project }) => project.getReflectionsByKind(ReflectionKind.Interface)
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

function withoutTables(types) {
  const others = types?.filter((type) => !isOfTable(type)) ?? []
  return others.length === 0 ? undefined : others
}

function isOfTable(type) {
  return type instanceof ReferenceType && /^(OptionsOf|Pick)\b/.test(type.name)
}
