// Values that a declared type allows, made from its shape (type_shapes.mjs).

/** The depth to which options nest. */
const MAX_DEPTH = 4

/** Makes values of shapes, from `subjects` (by the name of the type) if there is one. */
export class TypedValues {
  constructor(shapes, subjects, random) {
    this.shapes = shapes
    this.subjects = subjects
    this.random = random
  }

  /** A value of the shape at `index`; undefined if nothing can be made. */
  async of(index, depth = 0) {
    const shape = this.shapes[index]
    switch (shape.kind) {
      case 'subject':
        return this.subjects[shape.name]()
      case 'literal':
        return shape.value
      case 'string':
        return 'walk'
      case 'number':
        return 1
      case 'bigint':
        return 1n
      case 'null':
        return null
      case 'union':
        return this.ofUnion(shape, depth)
      case 'function': {
        const result = depth > MAX_DEPTH ? undefined : await this.of(shape.returns, depth + 1)
        return () => result
      }
      default:
        return depth > MAX_DEPTH ? undefined : this.ofFields(shape, depth)
    }
  }

  ofUnion({ of }, depth) {
    const members = of.filter((index) => !['undefined', 'null'].includes(this.shapes[index].kind))
    return this.of(members[Math.floor(this.random() * members.length)] ?? of[0], depth)
  }

  async ofFields(shape, depth) {
    if (shape.kind === 'tuple') {
      const elements = []
      for (const element of shape.of) elements.push(await this.of(element, depth + 1))
      return elements
    }
    if (shape.kind === 'array') return [await this.of(shape.of, depth + 1)]
    if (shape.kind !== 'object') return undefined
    const value = {}
    for (const { name, optional, type } of shape.fields) {
      if (optional && this.random() < 0.5) continue
      const made = await this.of(type, depth + 1)
      if (made !== undefined) value[name] = made
    }
    return value
  }
}
