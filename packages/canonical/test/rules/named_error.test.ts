import { expect, it } from 'vitest'
import { NamedError } from '../../src/rules/index.js'

class FileError extends NamedError {
  static override readonly errorName = 'FileError'
}

class LockError extends FileError {}

it('has its name, code, cause and a message whose control characters are visible', () => {
  const cause = new Error('below')
  const error = new FileError('ERR_AXIS', 'a\u001bb', { cause })
  expect(error).toMatchObject({ name: 'FileError', code: 'ERR_AXIS', message: 'a\\x1bb', cause })
  expect('cause' in new FileError('ERR_AXIS', '', { cause: undefined })).toBe(false)
})

it('is an instance of its class, as is an error of another copy of the class', () => {
  const copy = Object.assign(new Error(''), { name: 'FileError', code: 'ERR_AXIS' })
  for (const error of [new FileError('ERR_AXIS', ''), new LockError('ERR_AXIS', ''), copy]) {
    expect(error instanceof FileError).toBe(true)
  }
  const others = [new Error(''), Object.assign(new Error(''), { name: 'FileError' }), { ...copy }, null, 'FileError']
  for (const other of others) expect((other as unknown) instanceof FileError).toBe(false)
})

it('is not an instance of a class derived from its own', () => {
  expect(new LockError('ERR_AXIS', '') instanceof LockError).toBe(true)
  expect(new FileError('ERR_AXIS', '') instanceof LockError).toBe(false)
})
