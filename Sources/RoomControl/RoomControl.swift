// RoomControl
