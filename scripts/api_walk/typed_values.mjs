// Values that a declared type allows, made from the type itself.
import ts from 'typescript'

/** As deep as options nest. */
const MAX_DEPTH = 4

/** Makes values of TypeScript types, from `subjects` (by the name of the type) where there is one. */
export class TypedValues {
  constructor(checker, subjects, random) {
    this.checker = checker
    this.subjects = subjects
    this.random = random
  }

  /** A value of `type`; undefined where nothing can be made. */
  async of(type, depth = 0) {
    const name = type.aliasSymbol?.name ?? type.symbol?.name
    if (name !== undefined && Object.hasOwn(this.subjects, name)) return this.subjects[name]()
    const { flags } = type
    if (type.isStringLiteral() || type.isNumberLiteral()) return type.value
    if (flags & ts.TypeFlags.StringLike) return 'walk'
    if (flags & ts.TypeFlags.NumberLike) return 1
    if (flags & ts.TypeFlags.BooleanLike) return type.intrinsicName !== 'false'
    if (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return undefined
    if (flags & ts.TypeFlags.Null) return null
    if (type.isUnion()) return this.ofUnion(type, depth)
    if (flags & ts.TypeFlags.TypeParameter) {
      const constraint = this.checker.getBaseConstraintOfType(type)
      return constraint === undefined ? {} : this.of(constraint, depth + 1)
    }
    if (depth > MAX_DEPTH) return undefined
    if (this.checker.isTupleType(type)) {
      return Promise.all(this.checker.getTypeArguments(type).map((element) => this.of(element, depth + 1)))
    }
    if (this.checker.isArrayType(type)) return [await this.of(this.checker.getTypeArguments(type)[0], depth + 1)]
    const [signature] = type.getCallSignatures()
    if (signature !== undefined) {
      const result = await this.of(this.checker.getReturnTypeOfSignature(signature), depth + 1)
      return () => result
    }
    return this.ofObject(type, depth)
  }

  async ofUnion(type, depth) {
    const members = type.types.filter(({ flags }) => !(flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)))
    return this.of(members[Math.floor(this.random() * members.length)] ?? type.types[0], depth)
  }

  async ofObject(type, depth) {
    const value = {}
    for (const property of type.getProperties()) {
      if (property.flags & ts.SymbolFlags.Optional && this.random() < 0.5) continue
      if (property.name.startsWith('__')) continue
      const made = await this.of(this.checker.getTypeOfSymbol(property), depth + 1)
      if (made !== undefined) value[property.name] = made
    }
    return value
  }
}
