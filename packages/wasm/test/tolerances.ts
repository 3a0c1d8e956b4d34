/** How far results may be from the reference's, on every instruction set and on threads. */
export const tolerances = { float32: 5e-6, float64: 1e-12 }
