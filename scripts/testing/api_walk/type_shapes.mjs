// Declared types as plain data, which the processes that walk are given: they need no compiler.
import ts from 'typescript'

/** The depth to which options nest. */
const MAX_DEPTH = 6

/**
 * Describes types as a table of shapes that refer to each other by index. `subjects` are the names of types that have
 * own values: their members are not described.
 */
export class TypeShapes {
  constructor(checker, subjects) {
    this.checker = checker
    this.subjects = subjects
    this.table = []
    this.indices = new Map()
  }

  /** The index of `type` in the table. */
  of(type, depth = 0) {
    const known = this.indices.get(type)
    if (known !== undefined) return known
    const index = this.table.length
    this.indices.set(type, index)
    this.table.push({ kind: 'unknown' })
    this.table[index] = this.describe(type, depth)
    return index
  }

  describe(type, depth) {
    const name = type.aliasSymbol?.name ?? type.symbol?.name
    if (name !== undefined && this.subjects.has(name)) return { kind: 'subject', name }
    const { flags } = type
    if (type.isStringLiteral() || type.isNumberLiteral()) return { kind: 'literal', value: type.value }
    if (flags & ts.TypeFlags.BooleanLiteral) return { kind: 'literal', value: type.intrinsicName === 'true' }
    if (flags & ts.TypeFlags.StringLike) return { kind: 'string' }
    if (flags & ts.TypeFlags.NumberLike) return { kind: 'number' }
    if (flags & ts.TypeFlags.BigIntLike) return { kind: 'bigint' }
    if (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return { kind: 'undefined' }
    if (flags & ts.TypeFlags.Null) return { kind: 'null' }
    if (depth > MAX_DEPTH) return { kind: 'unknown' }
    if (type.isUnion()) return { kind: 'union', of: type.types.map((member) => this.of(member, depth)) }
    if (flags & ts.TypeFlags.TypeParameter) {
      const constraint = this.checker.getBaseConstraintOfType(type)
      return constraint === undefined ? { kind: 'unknown' } : { kind: 'union', of: [this.of(constraint, depth + 1)] }
    }
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never)) return { kind: 'unknown' }
    const elements = () => this.checker.getTypeArguments(type).map((element) => this.of(element, depth + 1))
    if (this.checker.isTupleType(type)) return { kind: 'tuple', of: elements() }
    if (this.checker.isArrayType(type)) return { kind: 'array', of: elements()[0] }
    // An object with a method `then` would be awaited without end; the type it resolves to serves as well.
    if (name === 'Promise' || name === 'PromiseLike') return { kind: 'union', of: elements() }
    const [signature] = type.getCallSignatures()
    if (signature !== undefined) {
      return { kind: 'function', returns: this.of(this.checker.getReturnTypeOfSignature(signature), depth + 1) }
    }
    const fields = type
      .getProperties()
      .filter((property) => !property.name.startsWith('__'))
      .map((property) => ({
        name: property.name,
        optional: Boolean(property.flags & ts.SymbolFlags.Optional),
        type: this.of(this.checker.getTypeOfSymbol(property), depth + 1),
      }))
    return { kind: 'object', fields }
  }
}
