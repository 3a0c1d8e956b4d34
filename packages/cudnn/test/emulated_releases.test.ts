import { afterEach, expect, it } from 'vitest'
import { describeEmulators } from './describe_emulators.js'

// The emulators of both releases are open before the first test.
describeEmulators(({ libraries, open }) => {
  afterEach(() => libraries.configure('reset'))

  it('has the machine that its tests configure and read, where the file opens another release too', async () => {
    libraries.configure('devices=0')
    await expect(open()).rejects.toThrow(/the driver sees no GPU/)
    libraries.configure('reset')
    using _ = await open()
    expect(libraries.report().live['device bytes']).toBeGreaterThan(0)
  })
})
