/** Adds figures of the test that runs to the table at the end of the run. Those of one name in one file are combined. */
export function measured(figures: Readonly<Record<string, number>>, combine?: 'sum' | 'most'): void
