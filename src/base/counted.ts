// Numbers with their noun: `1 job`, `2 jobs`.

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
