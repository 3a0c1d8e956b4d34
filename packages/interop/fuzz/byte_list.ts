/** Bytes written one after another, little-endian. Arrays of bytes are not copied before `finish`. */
export class ByteList {
  readonly #parts: Uint8Array[] = []
  length = 0

  bytes(...parts: readonly (Uint8Array | readonly number[])[]): this {
    for (const part of parts) {
      this.#parts.push(part instanceof Uint8Array ? part : Uint8Array.from(part))
      this.length += part.length
    }
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
    for (const part of this.#parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  }
}
