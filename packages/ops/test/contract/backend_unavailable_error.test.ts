import { describe, expect, it } from 'vitest'
import { BackendUnavailableError } from '../../src/index.js'

describe('BackendUnavailableError', () => {
  it('lists the attempts and the advice', () => {
    const error = new BackendUnavailableError(
      'cudnn',
      [{ name: 'libcudnn.so.9', reason: 'not found' }],
      'Install cuDNN.',
    )
    expect(error.message).toBe(
      'Cannot open backend "cudnn" as it does not work here (libcudnn.so.9: not found). Install cuDNN.',
    )
    expect(error).toMatchObject({ code: 'ERR_BACKEND_UNAVAILABLE', backend: 'cudnn' })
  })
})
