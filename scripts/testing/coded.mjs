import { expect } from 'vitest'

/** Matches an error of the code, and of the fields if some are given. */
export const coded = (code, fields = {}) => expect.objectContaining({ code, ...fields })
