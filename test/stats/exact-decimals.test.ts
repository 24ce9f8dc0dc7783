// Exact addition, subtraction and division of decimal texts.
import fc from 'fast-check'
import t from 'tap'
import { add, divide, subtract } from '../../src/stats/exact-decimals.ts'

t.test('division is exact and rounds halves away from zero', async (t) => {
  t.equal(divide('0.05', '10', 2), '0.01')
  t.equal(divide('0.04', '10', 2), '0.00')
  t.equal(divide('-0.05', '10', 2), '-0.01')
  t.equal(divide('-0.01', '10', 2), '0.00')
  t.equal(divide(1, 3, 4), '0.3333')
  t.equal(divide(1, 0, 4), null)
  t.equal(divide('7', '2', 0), '4')
  // PostgreSQL's round(dividend / divisor, 2) says …0.01 here.
  t.equal(divide('30000000000000.0149', '3', 2), '10000000000000.00')
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.bigInt(1n, 10n ** 12n), (a, b) => {
      const quotient = BigInt((divide(String(a), String(b), 3) ?? '').replace('.', ''))
      const rest = 2n * (a * 1000n - quotient * b)
      return rest <= b && rest >= -b
    }),
    { seed: 4 },
  )
})

t.test(
  'sums and differences are exact, with the decimals of the more precise number',
  async (t) => {
    t.equal(add('0.10', '0.2'), '0.30')
    t.equal(add('99.99', 1), '100.99')
    t.equal(add('-1.50', '1.5'), '0.00')
    t.equal(add('-0.25', '0.2'), '-0.05')
    t.equal(add('9007199254740993', '0.01'), '9007199254740993.01')
    t.equal(subtract('1.5', '2'), '-0.5')
    t.equal(subtract('2', '1.50'), '0.50')
    fc.assert(
      fc.property(
        fc.bigInt(-(10n ** 30n), 10n ** 30n),
        fc.bigInt(-(10n ** 30n), 10n ** 30n),
        (a, b) => {
          const sum = add(String(a), String(b))
          return sum === String(a + b) && subtract(sum, String(b)) === String(a)
        },
      ),
      { seed: 5 },
    )
  },
)
