import torch
x = torch.tensor([1., 2.])
if (s := x.sum()) > 2:
    print(s)
a = b = torch.zeros(2)
a += 1
print(b, a is b)
x, y = torch.tensor([1., 2.]), 3
x, y = y, x
print(x, y)
(p, q), r = (1, 2), 3
print(p, q, r, *[1, 2])
i = [0, 0]
i[0], k = 5, 6
print(i, k)
del k
k
lst = [1, 2, 3]
del lst[0]
print(lst, lst * 2, [*lst, 4], {**{'a': 1}, 'b': 2})
print(1 < 2 < 3, not True, 5 // 2, -5 // 2, 5 % 3, 2 ** -1, 7 / 2, True + 1, 0.1 + 0.2, 1e3, int(2.7), "a" in "abc")
