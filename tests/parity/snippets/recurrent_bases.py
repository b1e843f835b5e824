import torch
from torch import nn
from torch.nn.modules.rnn import RNNBase, RNNCellBase

print(isinstance(nn.LSTM(1, 1), nn.RNNBase), isinstance(nn.GRUCell(1, 1), nn.RNNCellBase), issubclass(nn.RNN, RNNBase))
print(RNNCellBase, RNNBase, nn.LSTMCell, nn.modules.rnn.GRUCell is nn.GRUCell)


def init(m):
    if isinstance(m, (nn.RNNBase, nn.RNNCellBase)):
        for name, p in m.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(p)


torch.manual_seed(0)
print(nn.ModuleList([nn.GRU(2, 3), nn.LSTMCell(2, 2)]).apply(init)[1].weight_ih)
