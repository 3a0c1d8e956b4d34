/** Bytes written one after another, little-endian. Arrays of bytes are not copied before `finish`. */
export class ByteList {
  readonly #parts: Uint8Array[] = []
  /** Behind the parts. An array for each number would take most of the time of a large file. */
  readonly #numbers: number[] = []
  length = 0

  bytes(...parts: readonly (Uint8Array | readonly number[])[]): this {
    for (const part of parts) {
      if (part instanceof Uint8Array) this.#flush().#parts.push(part)
      else for (const value of part) this.#numbers.push(value)
      this.length += part.length
    }
    return this
  }

  #flush(): this {
    if (this.#numbers.length > 0) this.#parts.push(Uint8Array.from(this.#numbers.splice(0)))
    return this
  }

  text(text: string): this {
    return this.bytes(new TextEncoder().encode(text))
  }

  u8(value: number): this {
    return this.bytes([value & 0xff])
  }

  u16(value: number): this {
    return this.u8(value).u8(value >>> 8)
  }

  u32(value: number): this {
    return this.u16(value).u16(value >>> 16)
  }

  u64(value: number): this {
    return this.u32(value % 2 ** 32).u32(Math.floor(value / 2 ** 32))
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.length)
    let at = 0
    for (const part of this.#flush().#parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  }
}
